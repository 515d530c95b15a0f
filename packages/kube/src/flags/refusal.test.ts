import { Command } from 'commander';
import { expect, test } from 'vitest';
import { refusalOf, reportRefusals } from './refusal.ts';

test.each([
  ["error: unknown option '--prvider=a-long-value'\n", 'unknown flag --prvider; did you mean --provider?'],
  ["error: unknown option '--prot=1'\n(Did you mean --part?)\n", 'unknown flag --prot; did you mean --port?'],
  ["error: unknown option '--token=secret'\n", 'unknown flag --token'],
  ["error: unknown option '--port=secret'", '--port takes no value'],
  ["error: unknown option '-q'", 'unknown flag -q'],
  ["error: missing required argument 'shell'\n", "missing required argument 'shell'"],
  ["error: unknown command 'tre'\n(Did you mean tree?)", "unknown command 'tre' (Did you mean tree?)"],
])('%j', (text, reported) => {
  expect(refusalOf(text, ['provider', 'port'])).toBe(reported);
});

test.each([
  [['--prot=secret'], 'prog: unknown flag --prot; did you mean --port?\n'],
  [['--port'], "prog: option '--port <port>' argument missing\n"],
  [['--memory=secret'], 'prog: --memory takes no value\n'],
  [['a', 'b'], 'prog: a, b: is not a flag; flags begin with --\n'],
])('an invalid argument is reported in one line: %j', (args, reported) => {
  let said = '';
  const command = reportRefusals(new Command('prog').option('--port <port>').option('--memory'))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeErr: (text) => {
        said += text;
      },
    });
  expect(() => command.parse(args, { from: 'user' })).toThrow();
  expect(said).toBe(reported);
});
