/**
 * The finalizers that mcm writes. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller/{controller,node}.go.
 */
export const Finalizers = {
  /** On Machines, MachineSets, MachineDeployments and MachineClasses. */
  MachineControllerManager: 'machine.sapcloud.io/machine-controller-manager',
  /** On Secrets that a MachineClass references. */
  Secret: 'machine.sapcloud.io/machine-controller',
  /** On Nodes that have a Machine. */
  Node: 'node.machine.sapcloud.io/machine-controller',
  /** On the Lease of the machine-controller-manager and on the kubeconfig Secret of a cluster in a fleet. */
  FleetManager: 'machine.sapcloud.io/fleet-machine-controller-manager',
  /** On the Lease of the machine controller and on the kubeconfig Secret of a cluster in a fleet. */
  FleetController: 'machine.sapcloud.io/fleet-machine-controller',
} as const;
