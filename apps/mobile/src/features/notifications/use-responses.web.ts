/** Browsers answer where they tell: see tell.web.ts. */
export function useResponses(): void {}
