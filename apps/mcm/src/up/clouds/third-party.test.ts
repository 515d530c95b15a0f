import { expect, test } from 'vitest';
import { configPlaces } from './third-party.ts';

test.each([
  ['/p/src/driver.ts', ['/p/src/conformance.yaml', '/p/src/driver.yaml', '/p/conformance.yaml']],
  ['/p/examples/toy-driver.ts', ['/p/examples/conformance.yaml', '/p/examples/toy.yaml', '/p/conformance.yaml']],
])('the driver %s has the configuration %j', (module, places) => {
  expect(configPlaces({ module, folder: '/p' })).toEqual(places);
});
