import type { Command } from 'commander';
import { nameOf, objectText, withOutput } from '../cluster/cluster-options.ts';
import { DEFAULT_DATA_DIR } from '../command/environment.ts';
import type { OutputFormat } from '../output/format.ts';
import type { InterruptOptions } from './interrupt.ts';

export function addCloud(program: Command, say: (line: string) => void): void {
  const cloud = program.command('cloud').description('inspect and interrupt the cloud of a local instance');
  withOutput(
    cloud
      .command('list')
      .description('list the instances, volumes or disks, and network interfaces that the cloud reports')
      .option(
        '--data-dir <dir>',
        'directory with the stores, logs and kubeconfig of the local instance',
        DEFAULT_DATA_DIR,
      ),
  ).action(async ({ dataDir, output }: { dataDir: string; output: OutputFormat }) => {
    const { cloudLines } = await import('./list.ts');
    for (const line of await cloudLines(dataDir, output)) say(line);
  });
  withOutput(
    cloud
      .command('interrupt')
      .argument('<machine...>', 'NAME of the machine, or machine/NAME')
      .description('announce an interruption of the VM of a machine, as a real cloud does for spot VMs')
      .option(
        '--data-dir <dir>',
        'directory with the stores, logs and kubeconfig of the local instance',
        DEFAULT_DATA_DIR,
      )
      .option('--notice <duration>', 'time between the notice and the end of the VM', '2m')
      .option(
        '--kind <kind>',
        'kind of the interruption: Terminate, Maintenance, Ended, Freeze or Rebalance',
        'Terminate',
      ),
  ).action(async (words: string[], options: InterruptOptions) => {
    const { interrupt } = await import('./interrupt.ts');
    for (const line of await interrupt(nameOf('Machine', objectText(words)), options)) say(line);
  });
}
