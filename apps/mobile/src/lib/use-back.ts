/** Phones tell what is open by themselves: `onRequestClose`. */
export function useBack(_isOpen: boolean, _close: () => void): void {}
