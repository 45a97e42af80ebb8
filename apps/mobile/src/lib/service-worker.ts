/** Only browsers have one. */
export function startServiceWorker(): void {}
