// Commands get a button that copies them, where the browser can.
for (const pre of document.querySelectorAll("pre[data-copy]")) {
  if (!navigator.clipboard) break;
  const text = pre.textContent;
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.addEventListener("click", () => navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; }, () => {}));
  pre.after(button);
}
