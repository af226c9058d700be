/** What figures need to know of the screen and its reader. */

export const narrowScreen = matchMedia("(max-width: 40rem)");

/** A finger that drags over a figure wants to scroll the page. */
export const coarsePointer = matchMedia("(pointer: coarse)");
