// The service worker of the web build: opens the app without a network, and shows alerts while it is closed.

/** Where this app is mounted: empty at the root. */
const BASE = new URL(self.registration.scope).pathname.replace(/\/$/, '')
const HOME = `${BASE}/`
const CACHE = `oncue-shell${BASE}`
/** Requests that always go to the server: an old response may be wrong by now. */
const OF_SERVER = /^\/(api|trpc|docs|metrics|healthz|readyz|openapi\.json)(\/|$)/
/** Files of a build: their names carry a hash of their content. */
const HASHED = /[-.][0-9a-f]{8,}\./

self.addEventListener('install', (event) => {
  event.waitUntil(
    fetch(HOME, { cache: 'no-cache' })
      .then(keepShell)
      .then(() => self.skipWaiting()),
  )
})

self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

self.addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== self.location.origin || !pathname.startsWith(HOME)) return
  if (OF_SERVER.test(pathname.slice(BASE.length))) return
  if (request.mode === 'navigate') event.respondWith(openPage(event))
  else if (HASHED.test(pathname)) event.respondWith(openFile(request))
})

/** The network first, so that a new version arrives; offline, the cached page. */
async function openPage(event) {
  try {
    const response = await fetch(event.request)
    const isPage = response.ok && response.headers.get('content-type')?.includes('text/html')
    if (isPage) event.waitUntil(keepShell(response.clone()).catch(() => {}))
    return response
  } catch (error) {
    const kept = await (await caches.open(CACHE)).match(HOME)
    if (kept) return kept
    throw error
  }
}

async function openFile(request) {
  const cache = await caches.open(CACHE)
  const kept = await cache.match(request)
  if (kept) return kept
  const response = await fetch(request)
  if (response.ok) await cache.put(request, response.clone())
  return response
}

/** Caches the page with the files that it names, and removes those of earlier versions. */
async function keepShell(response) {
  // The sign-in of a host application is not the app.
  if (!response.ok || response.redirected) throw new Error(`The page returned ${response.status}`)
  const cache = await caches.open(CACHE)
  const text = await response.clone().text()
  const before = await (await cache.match(HOME))?.text()
  if (before === text) return
  const files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, path]) => path)
  await cache.addAll(files)
  await cache.put(HOME, response)
  for (const { url } of await cache.keys()) {
    const { pathname } = new URL(url)
    if (pathname !== HOME && !files.includes(pathname)) await cache.delete(url)
  }
}

self.addEventListener('push', (event) => {
  const { type, title, body, path, tag, alertIds } = event.data.json()
  const isFiring = type === 'alert.firing'
  event.waitUntil(
    self.registration.showNotification(title, {
      body,
      tag,
      icon: `${BASE}/icon-192.png`,
      badge: `${BASE}/icon-192.png`,
      // A later message about the same alerts replaces this one; if they fire again, it makes a sound again.
      renotify: isFiring,
      requireInteraction: isFiring,
      data: { path: BASE + path, alertIds },
      actions: isFiring
        ? [
            { action: 'open', title: 'Open' },
            { action: 'ack', title: 'Acknowledge' },
          ]
        : [],
    }),
  )
})

self.addEventListener('notificationclick', (event) => {
  const { data, tag } = event.notification
  event.notification.close()
  event.waitUntil(event.action === 'ack' ? acknowledge(data, tag) : show(data.path))
})

/** Uses the browser's session cookie. If that fails, the app opens, so that the failure is noticed. */
async function acknowledge({ alertIds, path }, tag) {
  try {
    const response = await fetch(`${BASE}/trpc/alerts.ack`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ json: { ids: alertIds } }),
    })
    if (!response.ok) throw new Error(`The server returned ${response.status}`)
    await self.registration.showNotification('Acknowledged', { tag, silent: true, data: { path, alertIds } })
  } catch {
    await show(path)
  }
}

/** In a tab that is open, or in a new one: a tab that was loaded past this worker cannot be navigated. */
async function show(path) {
  const [open] = await self.clients.matchAll({ type: 'window' })
  if (!open) return self.clients.openWindow(path)
  await open.focus()
  return open.navigate(path)
}
