/** A real database that one test has to itself. */
export interface TestDatabase {
  readonly url: string
  /** Removes it. Fails when the test left connections open; keeps it when ONCUE_KEEP is set. */
  drop(): Promise<void>
}
