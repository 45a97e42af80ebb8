/** In a browser one is at the server already, and the camera stays out of the bundle. */
export function ScanButton() {
  return null
}
