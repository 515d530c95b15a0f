import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { undiciTransport } from '@mcm/kube';
import type { Command } from 'commander';
import { withOutput } from './cluster-options.ts';
import { UserError } from './errors.ts';
import { formatted, type OutputFormat } from './output/format.ts';
import { DEFAULT_DATA_DIR, inspectDataDir } from './up/data-dir.ts';

/** One thing that is in a cloud, as its emulator or the local cloud lists it. */
interface Listed {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

/** Adds `cloud`: what the cloud of a local instance itself says that it holds. */
export function addCloudCommands(program: Command, say: (line: string) => void): void {
  const cloud = program.command('cloud').description('look into the cloud of a local instance');
  withOutput(
    cloud
      .command('list')
      .description("everything that is there, by the cloud's own word: instances, volumes or disks, NICs")
      .option('--data-dir <dir>', 'where stores, logs and the kubeconfig are', DEFAULT_DATA_DIR),
  ).action(async ({ dataDir, output }: { dataDir: string; output: OutputFormat }) => {
    for (const line of formatted(output, await listCloud(dataDir), listedLines)) say(line);
  });
}

const listedLines = (found: readonly Listed[]): string[] =>
  found.length === 0 ? ['nothing'] : found.map(({ kind, id, name, state }) => [kind, name, state, id].join('  '));

/** @throws UserError when no instance runs */
export async function listCloud(dataDir: string): Promise<readonly Listed[]> {
  const instance = inspectDataDir(dataDir);
  const { provider = 'local', cloudAddress } = instance?.state ?? {};
  if (!instance?.running || cloudAddress === undefined)
    throw new UserError(`no instance runs on ${dataDir}; start one with: mcm up --provider aws`);
  const [ca, token] = [join(dataDir, 'cloud', 'ca.crt'), join(dataDir, 'cloud-token')];
  const transport = undiciTransport({
    server: cloudAddress,
    ...(existsSync(ca) ? { ca: readFileSync(ca, 'utf8') } : {}),
    ...(provider === 'local' ? { token: readFileSync(token, 'utf8') } : {}),
  });
  try {
    const path = provider === 'local' ? '/v1/instances' : '/_emulator/resources';
    const answer = await transport({ method: 'GET', path, headers: {} });
    const text = await answer.text();
    if (answer.status !== 200) throw new UserError(`the cloud answered ${answer.status}: ${text.slice(0, 200)}`);
    const told: { readonly resources?: readonly Listed[]; readonly items?: readonly Listed[] } = JSON.parse(text);
    if (told.resources) return told.resources;
    return (told.items ?? [])
      .filter(({ state }) => state !== 'terminated')
      .map((each) => ({ ...each, kind: 'instance' }));
  } finally {
    await transport.close();
  }
}
