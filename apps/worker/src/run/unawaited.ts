/** Lets a handler leave out an `await`: the rejection of a promise that it dropped must not end the process. */
export function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}

/** The same only for rejections at the end of a run, when its handler may no longer listen. */
export function unawaitedAtEnd<T>(promise: Promise<T>, run: { readonly isEnding: boolean }): Promise<T> {
  const passed = promise.catch((error: unknown) => {
    if (run.isEnding) void unawaited(passed)
    throw error
  })
  return passed
}
