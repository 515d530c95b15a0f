import { expect, test } from 'vitest';
import { controllersText } from './controllers.ts';

test.each([
  [[], 'Controllers not known', false],
  [['acts', 'acts'], 'All controllers working', false],
  [['acts', 'unknown'], '1 controller not known', false],
  [['unknown', 'behind'], '1 controller behind', true],
  [['stopped', 'behind', 'stopped'], '2 controllers not working', true],
] as const)('the fleet page describes the controllers %j as "%s"', (states, text, isBad) => {
  expect(controllersText(states)).toEqual({ text, isBad });
});
