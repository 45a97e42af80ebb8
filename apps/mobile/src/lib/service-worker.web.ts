import { BASE_PATH } from './base-path.ts'

/** Starts after the first view, so as not to compete with it. Without a service worker, only offline use is lost. */
export function startServiceWorker(): void {
  if (__DEV__ || !('serviceWorker' in navigator)) return
  const register = () => void navigator.serviceWorker.register(`${BASE_PATH}/sw.js`).catch(() => {})
  if (document.readyState === 'complete') register()
  else globalThis.addEventListener('load', register, { once: true })
}
