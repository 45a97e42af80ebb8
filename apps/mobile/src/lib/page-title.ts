/** Phones show no window title. */
export function usePageTitle(_title: string | null): void {}
