/** After the first view: it must not compete with it. Without one everything works, but not offline. */
export function startServiceWorker(): void {
  if (__DEV__ || !('serviceWorker' in navigator)) return
  const register = () => void navigator.serviceWorker.register('/sw.js').catch(() => {})
  if (document.readyState === 'complete') register()
  else globalThis.addEventListener('load', register, { once: true })
}
