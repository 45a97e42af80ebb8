/** Lets one reader sleep until something happens, whatever it is and however often. */
export class Inbox {
  #isRung = false
  #wake: (() => void) | undefined

  readonly ring = () => {
    this.#isRung = true
    this.#wake?.()
  }

  /** Returns at once if something happened since the last time. */
  async wait(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    this.#isRung = false
  }
}
