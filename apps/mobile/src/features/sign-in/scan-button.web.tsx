/** Not needed in a browser, which has its server already; this keeps the camera out of the bundle. */
export function ScanButton() {
  return null
}
