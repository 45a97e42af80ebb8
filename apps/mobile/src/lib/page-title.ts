/** Phones show no title of a window. */
export function usePageTitle(_title: string | null): void {}
