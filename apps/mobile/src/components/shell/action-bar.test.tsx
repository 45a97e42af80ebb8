import { fireEvent } from 'expo-router/testing-library'
import { StyleSheet } from 'react-native'
import { alertOf } from '../../testing/alerts.ts'
import { groupOf } from '../../testing/failures.ts'
import { renderApp } from '../../testing/render-app.tsx'

it('toasts appear above the bar of a selection, which stands on the tab bar', async () => {
  const { screen } = await renderApp('/failures', { answers: { 'jobs.failures': () => [groupOf('f00d')] } })
  const layoutOf = (role: string, height: number) =>
    fireEvent(screen.UNSAFE_getByProps({ role }), 'layout', { nativeEvent: { layout: { height } } })
  fireEvent.press(await screen.findByLabelText('Select'))
  layoutOf('toolbar', 120)
  layoutOf('navigation', 60)
  const { style } = screen.UNSAFE_getByProps({ 'aria-live': 'polite' }).props
  expect(StyleSheet.flatten(style).bottom).toBe(180)
})

it('toasts appear above an action bar of any height, and only on its own page', async () => {
  const alert = alertOf(1)
  const { screen, app } = await renderApp(`/alerts/${alert.id}`, {
    answers: {
      'alerts.get': () => alert,
      'alerts.rules': () => [],
      'alerts.list': () => ({ items: [], nextCursor: null }),
    },
  })
  const bottom = () =>
    StyleSheet.flatten(screen.UNSAFE_getByProps({ 'aria-live': 'polite' }).props.style).bottom
  const before = bottom()
  await screen.findByLabelText('Snooze')
  fireEvent(screen.UNSAFE_getByProps({ role: 'toolbar' }), 'layout', {
    nativeEvent: { layout: { height: 190 } },
  })
  expect(bottom()).toBe(190)
  fireEvent.press(screen.getByLabelText('Search'))
  expect(app.getPathname()).toBe('/jobs')
  expect(bottom()).toBe(before)
})
