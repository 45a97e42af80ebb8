/** A phone has no focus to give back. */
export function useFocusReturn(): void {}
