/** Lets a handler leave out an `await`: the rejection of a promise that it dropped must not end the process. */
export function unawaited<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
