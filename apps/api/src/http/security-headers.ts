/** React Native for Web needs inline styles; everything else comes from this server only. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** What is said of one response alone, and not of the whole domain, which another application may serve. */
export const MOUNTED_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** Sent with every response. Constants, since a plugin would build them anew for each. */
export const SECURITY_HEADERS = {
  ...MOUNTED_HEADERS,
  // Browsers apply it over https only. Without includeSubDomains, since other hosts of the domain are not ours.
  'strict-transport-security': 'max-age=31536000',
} as const
