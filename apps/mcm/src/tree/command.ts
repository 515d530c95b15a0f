import type { Command } from 'commander';
import {
  objectText,
  withAllNamespaces,
  withCluster,
  withFleetCluster,
  withOutput,
  withSelector,
} from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import { UserError } from '../command/errors.ts';
import type { TreeFlags } from './run.ts';

export function addTree(program: Command, environment: CommandEnvironment): void {
  const tree = program
    .command('tree')
    .description('show deployments with their sets, machines, VMs and nodes, and the problem of each object')
    .argument('[deployment...]', 'only the given deployment: NAME, TYPE/NAME or TYPE NAME')
    .option('--all', 'also show old sets without machines; with --fleet, also show the objects of all clusters')
    .option(
      '--fleet [labels]',
      'show the clusters of a fleet; problems come first; the labels select namespaces of the seed (default: mcm-fleet)',
    )
    .option('-w, --watch', 'print the tree again after each change, until Ctrl-C');
  withOutput(withFleetCluster(withCluster(withSelector(withAllNamespaces(tree), 'machinedeployments')))).action(
    async (words: string[], flags: TreeFlags) => {
      if (words.length > 0 && (flags.allNamespaces || flags.selector !== undefined))
        throw new UserError('a name cannot be used together with --all-namespaces or --selector');
      const { fleet, allNamespaces, selector, cluster } = flags;
      const others = words.length > 0 || [allNamespaces, selector, cluster].some((flag) => flag !== undefined);
      if (fleet !== undefined && others)
        throw new UserError('--fleet can be used only with --all, -n, -o, -w and the flags of the kubeconfig');
      const { reportTree } = await import('./run.ts');
      await reportTree(words.length === 0 ? undefined : objectText(words), flags, environment);
    },
  );
}
