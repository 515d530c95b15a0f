import { columns } from '../output/columns.ts';
import { formatted, type OutputFormat } from '../output/format.ts';
import { withCloud } from './connect.ts';

interface Listed {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

export const cloudLines = async (dataDir: string, output: OutputFormat): Promise<readonly string[]> =>
  formatted(output, await listCloud(dataDir), listedLines);

const listedLines = (found: readonly Listed[]): string[] => {
  if (found.length === 0) return ['the cloud has no resources'];
  return columns([
    ['KIND', 'NAME', 'STATE', 'ID'],
    ...found.map(({ kind, id, name, state }) => [kind, name, state, id]),
  ]);
};

/**
 * Lists the resources in the emulated cloud of a local instance.
 * @throws UserError if the data directory has no running instance
 */
const listCloud = (dataDir: string): Promise<readonly Listed[]> =>
  withCloud(dataDir, async ({ provider, call }) => {
    const text = await call('GET', provider === 'local' ? '/v1/instances' : '/_emulator/resources');
    const reported: { readonly resources?: readonly Listed[]; readonly items?: readonly Listed[] } = JSON.parse(text);
    if (reported.resources) return reported.resources;
    return (reported.items ?? [])
      .filter(({ state }) => state !== 'terminated')
      .map((each) => ({ ...each, kind: 'instance' }));
  });
