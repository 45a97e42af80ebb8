/** Browsers have no haptics. */
export function felt(_how: 'done' | 'refused' | 'held'): void {}
