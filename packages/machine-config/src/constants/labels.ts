/** Labels of MachineConfigs and pools. */
export const ConfigLabels = {
  /**
   * On MachineConfigs, the value is the role by which pools select them. Rendered MachineConfigs have no role, so that
   * no pool selects them.
   */
  Role: 'machineconfiguration.openshift.io/role',
  /** On pools, the label marks a pool that the product creates. */
  BuiltIn: 'machineconfiguration.openshift.io/mco-built-in',
  /**
   * On pools, the key of a label is this prefix and the name of the pool. KubeletConfigs select the pool with this
   * label.
   */
  PoolPrefix: 'pools.operator.machineconfiguration.openshift.io/',
} as const;

/** Labels of Nodes that this package reads. */
export const NodeLabels = {
  /** On Nodes, a label with this prefix contains the role, such as `node-role.kubernetes.io/worker`. */
  RolePrefix: 'node-role.kubernetes.io/',
  /** On Nodes, the value is the zone. */
  Zone: 'topology.kubernetes.io/zone',
  /** On Nodes, the value is the operating system; a Windows node belongs to no pool. */
  OperatingSystem: 'kubernetes.io/os',
} as const;
