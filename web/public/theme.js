// Before anything is drawn, so that the page does not change its colours as it appears.
try {
  var chosen = localStorage.getItem("anabranch.theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch (refused) {
  // A browser that keeps nothing follows the system.
}
