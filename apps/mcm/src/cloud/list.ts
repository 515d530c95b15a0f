import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { undiciTransport } from '@mcm/kube';
import { UserError } from '../command/errors.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { inspectDataDir } from '../up/data/data-dir.ts';

/** A resource of a cloud, as its emulator or the local cloud lists it. */
interface Listed {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

/** `mcm cloud list`: the lines to print. */
export const cloudLines = async (dataDir: string, output: OutputFormat): Promise<readonly string[]> =>
  formatted(output, await listCloud(dataDir), listedLines);

const listedLines = (found: readonly Listed[]): string[] =>
  found.length === 0 ? ['nothing'] : found.map(({ kind, id, name, state }) => [kind, name, state, id].join('  '));

/** @throws UserError when no instance runs */
async function listCloud(dataDir: string): Promise<readonly Listed[]> {
  const instance = inspectDataDir(dataDir);
  const { provider = 'local', cloudAddress } = instance?.state ?? {};
  if (!instance?.running || cloudAddress === undefined)
    throw new UserError(`no instance runs on ${dataDir}; start one with: mcm up --provider aws`);
  const [ca, token] = [join(dataDir, 'cloud', 'ca.crt'), join(dataDir, 'cloud-token')];
  const transport = undiciTransport({
    server: cloudAddress,
    ca: existsSync(ca) ? readFileSync(ca, 'utf8') : undefined,
    token: provider === 'local' ? readFileSync(token, 'utf8') : undefined,
  });
  try {
    const path = provider === 'local' ? '/v1/instances' : '/_emulator/resources';
    const answer = await transport({ method: 'GET', path, headers: {} });
    const text = await answer.text();
    if (answer.status !== 200) throw new UserError(`the cloud answered ${answer.status}: ${text.slice(0, 200)}`);
    const reported: { readonly resources?: readonly Listed[]; readonly items?: readonly Listed[] } = JSON.parse(text);
    if (reported.resources) return reported.resources;
    return (reported.items ?? [])
      .filter(({ state }) => state !== 'terminated')
      .map((each) => ({ ...each, kind: 'instance' }));
  } finally {
    await transport.close();
  }
}
