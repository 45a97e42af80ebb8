import { render, screen } from '@testing-library/react-native'
import { fireEvent } from 'expo-router/testing-library'
import { jobOf, pageOf } from '../../testing/job.ts'
import { renderApp } from '../../testing/render-app.tsx'
import { Button } from './button.tsx'
import { IconButton } from './icon-button.tsx'
import { Toggle } from './toggle.tsx'

const locks = () => screen.UNSAFE_queryAllByProps({ name: 'lock' }).length
const nothing = () => {}

describe.each([
  ['a button', (props: object) => <Button label="Go" onPress={nothing} icon="check" {...props} />],
  ['an icon', (props: object) => <IconButton label="Go" onPress={nothing} icon="check" {...props} />],
  ['a switch', (props: object) => <Toggle label="Go" onChange={nothing} isOn {...props} />],
])('%s', (_, of) => {
  it('has a lock where the role or the connection forbids it', () => {
    render(of({ lock: 'You are a viewer.' }))
    expect(locks()).toBeGreaterThan(0)
    expect(screen.getByLabelText('Go')).toBeDisabled()
  })

  it('has none where something has to be done first', () => {
    render(of({ needs: 'Select jobs first.' }))
    expect(locks()).toBe(0)
    expect(screen.getByLabelText('Go')).toBeDisabled()
    expect(screen.getByLabelText('Go').props.accessibilityHint).toBe('Select jobs first.')
  })
})

it('a press on one that needs something says what', async () => {
  const { screen: shown } = await renderApp('/jobs', { answers: { 'jobs.list': () => pageOf([jobOf()]) } })
  fireEvent.press(await shown.findByLabelText('Select'))
  fireEvent.press(shown.getByLabelText('Retry'))
  expect(await shown.findByText('Select jobs first.')).toBeVisible()
  expect(shown.UNSAFE_queryAllByProps({ name: 'lock' })).toHaveLength(0)
})
