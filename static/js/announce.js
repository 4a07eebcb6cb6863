// One polite live region for the whole page, so that nothing is read out twice.
export function say(sentence) {
  const region = document.getElementById("announcements");
  if (region) region.textContent = sentence;
}
