import type { MachineDeployment } from '@mcm/api';
import type { Node } from '@mcm/kube';
import type { FullReading } from '../cluster/deployment-reading.ts';
import type { ControllerHealth } from '../controllers/health.ts';
import type { MachineSettings } from '../explain/settings/machine-settings.ts';
import type { ManagerSettings } from '../explain/settings/manager-settings.ts';

export interface PlanSource extends Pick<FullReading, 'sets' | 'fleet' | 'others' | 'classes'> {
  readonly deployment: MachineDeployment;
  readonly nodes: readonly Node[] | undefined;
  /**
   * The reason why the class in the template is invalid. If the provider spec of the class is valid or cannot be
   * checked, `classProblem` is undefined.
   */
  readonly classProblem?: string | undefined;
  /** Whether the file changes the class in the template. */
  readonly isClassChanged?: boolean;
  readonly manager: ManagerSettings;
  readonly ofMachines: MachineSettings;
  /** The states of the controllers. A plan must not contain an action of a stopped controller. */
  readonly controllers?: readonly ControllerHealth[];
}
