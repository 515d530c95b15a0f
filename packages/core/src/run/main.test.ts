import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, runBinary, seededRandom, VirtualClock } from '@mcm/kube';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineDriver } from '../driver/schemas/define-driver.ts';
import { type BinaryParts, machineControllerBinary } from './main.ts';
import { endpointFlag, SettingSources } from './settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'mcm main '));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const driver = defineDriver({
  name: 'toy',
  providerSpec: z.object({}),
  credentialsSchema: z.object({}),
  create: () => Promise.reject(new Error('not asked')),
  delete: () => Promise.reject(new Error('not asked')),
});

const flags = {
  'toy-endpoint': endpointFlag('address of the toy cloud; alternative: the variable TOY_ENDPOINT'),
} as const;
type Parts = BinaryParts<typeof flags, object, object>;

async function run(parts: Parts, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const printed: string[] = [];
  const errors: string[] = [];
  const code = await runBinary(machineControllerBinary(driver, parts), {
    argv: ['--log-level=silent', ...argv],
    env,
    identity: 'me',
    clock: new VirtualClock(),
    random: seededRandom(1),
    print: (line) => printed.push(line),
    printError: (line) => errors.push(line),
    onStopRequest: () => undefined,
    exit: () => undefined,
  });
  return { code, printed: printed.join('\n'), errors };
}

const provider = (env: Readonly<Record<string, string>> = {}): Parts => ({
  provider: {
    flags,
    configure: (values) => {
      const endpoint = new SettingSources(values, env).endpoint('toy-endpoint', ['TOY_ENDPOINT']);
      throw new ConfigError(`in force: ${endpoint?.name} ${endpoint?.value.href}`);
    },
  },
});

test('the flags are in --help, which does not evaluate them', async () => {
  const { code, printed } = await run(provider(), ['--help']);
  expect(code).toBe(0);
  expect(printed).toMatch(/^Cloud:\n\s+--toy-endpoint <url>\s+address of the toy cloud/m);
});

test('the command line precedes MCM_FLAG_…, then the file of --config, then the variable of the cloud', async () => {
  const file = join(folder, 'config.yaml');
  writeFileSync(file, 'toy-endpoint: https://file.example\n');
  const own = { TOY_ENDPOINT: 'https://variable.example' };
  const argument = '--toy-endpoint=https://flag.example';
  const env = { MCM_FLAG_TOY_ENDPOINT: 'https://env.example' };
  const reported = async (argv: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
    (await run(provider(own), argv, variables)).errors;
  const line = (name: string, host: string) => [`machine-controller-toy: in force: ${name} https://${host}.example/`];
  expect(await reported([`--config=${file}`, argument], env)).toEqual(line('--toy-endpoint', 'flag'));
  expect(await reported([`--config=${file}`], env)).toEqual(line('--toy-endpoint', 'env'));
  expect(await reported([`--config=${file}`])).toEqual(line('--toy-endpoint', 'file'));
  expect(await reported([])).toEqual(line('TOY_ENDPOINT', 'variable'));
});

test('an invalid setting ends the process with 1 and is named in its last line', async () => {
  const { code, errors } = await run(provider(), ['--toy-endpoint=http://far.example']);
  expect(code).toBe(1);
  expect(errors).toEqual([expect.stringMatching(/^machine-controller-toy: --toy-endpoint is http:.*plain http/)]);
});

test.each([
  ['is not there', undefined, /^The file .*none\.pem of NODE_EXTRA_CA_CERTS cannot be read \(ENOENT/],
  [
    'contains no certificate',
    'rubbish',
    /^The file .*ca\.pem of NODE_EXTRA_CA_CERTS contains no PEM certificate, .*correct the path/,
  ],
])('a file of authorities that %s is warned of: Node passes it over', async (_what, text, says) => {
  const authorities = join(folder, text === undefined ? 'none.pem' : 'ca.pem');
  if (text !== undefined) writeFileSync(authorities, text);
  const binary = machineControllerBinary(driver, { authorities });
  const flags = { 'hook-webhooks': '' } as never;
  const { warnings } = (await binary.configure?.(flags)) ?? {};
  expect(warnings).toEqual([expect.stringMatching(says)]);
  writeFileSync(authorities, '-----BEGIN CERTIFICATE-----\n');
  expect(await binary.configure?.(flags)).toEqual({ warnings: [] });
});

test('the Lease is machine-controller, as in the original, for every driver: the two never work at once [1.1]', () => {
  const { name, leaseName } = machineControllerBinary(driver);
  expect({ name, leaseName }).toEqual({ name: 'machine-controller-toy', leaseName: 'machine-controller' });
});
