/**
 * The finalizers that mcm writes. Source: machine-controller-manager,
 * pkg/util/provider/machinecontroller/{controller,node}.go.
 */
export const Finalizers = {
  /** The finalizer of Machines, MachineSets, MachineDeployments and MachineClasses. */
  MachineControllerManager: 'machine.sapcloud.io/machine-controller-manager',
  /** The finalizer of Secrets that a MachineClass references. */
  Secret: 'machine.sapcloud.io/machine-controller',
  /** The finalizer of Nodes that have a Machine. */
  Node: 'node.machine.sapcloud.io/machine-controller',
  /**
   * The finalizer of the Lease of the machine-controller-manager, and of the kubeconfig Secret of a cluster in a fleet.
   */
  FleetManager: 'machine.sapcloud.io/fleet-machine-controller-manager',
  /** The finalizer of the Lease of the machine controller, and of the kubeconfig Secret of a cluster in a fleet. */
  FleetController: 'machine.sapcloud.io/fleet-machine-controller',
} as const;
