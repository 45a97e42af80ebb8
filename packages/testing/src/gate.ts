/** A gate that code waits at until a test opens it. */
export class Gate<T = void> {
  readonly opened: Promise<T>
  open: (value: T) => void = () => {}

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve
    })
  }
}
