/** Browsers have nothing to feel. */
export function felt(_how: 'done' | 'refused' | 'held'): void {}
