export type WaitedForPage = {
  readonly jobs: readonly { readonly topic: string }[]
  readonly next: number | null
}

/** Reads one page after the other: results may take a megabyte each. */
export async function* inPages(
  read: (after: number) => Promise<WaitedForPage>,
  topic: string | undefined,
): AsyncGenerator<never, void> {
  for (let after: number | null = -1; after !== null; ) {
    const page: WaitedForPage = await read(after)
    const wanted = page.jobs.filter((job) => topic === undefined || job.topic === topic)
    // The schemas of the topics have made the results; the compiler cannot infer that.
    yield* wanted as never[]
    after = page.next
  }
}
