import type { Command } from 'commander';
import { withOutput } from '../cluster/cluster-options.ts';
import { DEFAULT_DATA_DIR } from '../command/environment.ts';
import type { OutputFormat } from '../output/format.ts';

/** Adds `mcm cloud`, which lists the resources in the cloud of a local instance. */
export function addCloud(program: Command, say: (line: string) => void): void {
  const cloud = program.command('cloud').description('inspect the cloud of a local instance');
  withOutput(
    cloud
      .command('list')
      .description('list the resources that the cloud reports: instances, volumes or disks, NICs')
      .option('--data-dir <dir>', 'directory of stores, logs and the kubeconfig', DEFAULT_DATA_DIR),
  ).action(async ({ dataDir, output }: { dataDir: string; output: OutputFormat }) => {
    const { cloudLines } = await import('./list.ts');
    for (const line of await cloudLines(dataDir, output)) say(line);
  });
}
