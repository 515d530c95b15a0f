import { expect, test } from 'vitest';
import { compileUpOptions } from './options.ts';

test('defaults', () => {
  expect(compileUpOptions({}, true)).toEqual({
    dataDir: '.mcm',
    port: undefined,
    machines: undefined,
    provider: undefined,
    exitWhenReady: false,
    live: true,
    quiet: false,
  });
});

test.each([
  [{ tty: false }, true],
  [{ quiet: true }, true],
  [{}, false],
])('with %j on a terminal, the live screen is disabled: %s', (flags, terminal) => {
  expect(compileUpOptions(flags, terminal).live).toBe(false);
});

test.each([
  [{ port: 'abc' }, '--port must be a whole number from 0 to 65535, not "abc"'],
  [{ port: '65536' }, '--port must be a whole number from 0 to 65535, not "65536"'],
  [{ machines: '-1' }, '--machines must be a whole number from 0 to 10000, not "-1"'],
  [{ machines: '1.5' }, '--machines must be a whole number from 0 to 10000, not "1.5"'],
])('%j is refused with the name of the flag', (flags, message) => {
  expect(() => compileUpOptions(flags, true)).toThrow(message);
});

test('--port 0 uses a free port', () => {
  expect(compileUpOptions({ port: '0' }, false).port).toBeUndefined();
});
