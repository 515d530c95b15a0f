import { expect, test } from 'vitest';
import { toldRefusal } from './told-refusal.ts';

test.each([
  [
    "error: unknown option '--prvider=a-long-value'\n",
    "error: unknown option '--prvider' (Did you mean --provider?)\n",
  ],
  [
    "error: unknown option '--prot=1'\n(Did you mean --port?)\n",
    "error: unknown option '--prot' (Did you mean --port?)\n",
  ],
  ["error: unknown option '--token=secret'\n", "error: unknown option '--token'\n"],
  ["error: unknown option '--prot'\n(Did you mean --port?)", "error: unknown option '--prot'\n(Did you mean --port?)"],
  ["error: missing required argument 'shell'", "error: missing required argument 'shell'"],
])('%j', (text, told) => {
  expect(toldRefusal(text, ['--provider', '--port'])).toBe(told);
});
