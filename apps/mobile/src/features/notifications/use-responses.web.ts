/** Browsers handle presses where they notify: see tell.web.ts. */
export function useResponses(): void {}
