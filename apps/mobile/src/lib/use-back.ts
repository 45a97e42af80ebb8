/** Phones call `onRequestClose` of the open modal themselves. */
export function useBack(_isOpen: boolean, _close: () => void): void {}
