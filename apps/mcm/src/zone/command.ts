import type { Command } from 'commander';
import { withAllNamespaces, withCluster, withOutput, withSelector, withWatch } from '../cluster/cluster-options.ts';
import type { CommandEnvironment } from '../command/environment.ts';
import type { ZoneAction, ZoneFlags, ZoneListFlags } from './run.ts';

export function addZone(program: Command, environment: CommandEnvironment): void {
  const zone = program.command('zone').description('list, evacuate and return zones of MachineDeployments');
  const scoped = (command: Command): Command =>
    withOutput(withCluster(withSelector(withAllNamespaces(command), 'machinedeployments'))).option(
      '--deployment <name>',
      'only the given MachineDeployment (default: all MachineDeployments of the namespace)',
    );
  const change = (command: Command, action: ZoneAction): Command =>
    command.action(async (name: string, flags: ZoneFlags) => {
      const { changeZone } = await import('./run.ts');
      await changeZone(action, name, flags, environment);
    });
  scoped(withWatch(zone.command('list').description('list the zones with their machines'))).action(
    async (flags: ZoneListFlags) => {
      const { listZones } = await import('./run.ts');
      await listZones(flags, environment);
    },
  );
  change(
    scoped(zone.command('evacuate <zone>').description('move the machines of a zone to the other zones')),
    'evacuate',
  );
  change(scoped(zone.command('return <zone>').description('create machines in an evacuated zone again')), 'return');
}
