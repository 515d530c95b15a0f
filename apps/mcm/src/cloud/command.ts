import type { Command } from 'commander';
import { withOutput } from '../cluster/cluster-options.ts';
import { DEFAULT_DATA_DIR } from '../command/surroundings.ts';
import type { OutputFormat } from '../output/format.ts';

/** Adds `cloud`: what the cloud of a local instance itself says that it holds. */
export function addCloud(program: Command, say: (line: string) => void): void {
  const cloud = program.command('cloud').description('look into the cloud of a local instance');
  withOutput(
    cloud
      .command('list')
      .description("everything that is there, by the cloud's own word: instances, volumes or disks, NICs")
      .option('--data-dir <dir>', 'where stores, logs and the kubeconfig are', DEFAULT_DATA_DIR),
  ).action(async ({ dataDir, output }: { dataDir: string; output: OutputFormat }) => {
    const { cloudLines } = await import('./list.ts');
    for (const line of await cloudLines(dataDir, output)) say(line);
  });
}
