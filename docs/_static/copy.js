// A button at each block of commands, which copies them without their prompts and output.
for (const block of document.querySelectorAll("div.highlight-console, div.highlight-python")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const text = block.querySelector("pre").textContent;
    const commands = text.split("\n").filter((line) => line.startsWith("$ "));
    await navigator.clipboard.writeText(commands.length ? commands.map((line) => line.slice(2)).join("\n") : text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  block.append(button);
}
