import { Observable, useObservable } from './observable.ts'

const SIZE = 100
const ROOT = 16

/** No event tells of a larger font size: one letter is watched, which grows with the rest. */
const scale = new Observable(1)
const letter = document.createElement('span')
letter.textContent = 'M'
letter.ariaHidden = 'true'
Object.assign(letter.style, {
  ...{ position: 'absolute', visibility: 'hidden', pointerEvents: 'none' },
  ...{ fontSize: `${SIZE / ROOT}rem`, lineHeight: `${SIZE / ROOT}rem` },
})
document.body.append(letter)
new ResizeObserver(() => scale.set(letter.offsetHeight / SIZE)).observe(letter)

export function useFontScale(): number {
  return useObservable(scale)
}
