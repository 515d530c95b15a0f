/** Labels of MachineConfigs and pools. */
export const ConfigLabels = {
  /**
   * On MachineConfigs: the role by which pools select them. Rendered MachineConfigs do not have the label, so no pool
   * selects its own result.
   */
  Role: 'machineconfiguration.openshift.io/role',
  /** On pools that the product creates. */
  BuiltIn: 'machineconfiguration.openshift.io/mco-built-in',
  /** Prefix of the label that KubeletConfigs use to select a pool: `<prefix><pool>`. */
  PoolPrefix: 'pools.operator.machineconfiguration.openshift.io/',
} as const;

/** Labels of Nodes that this package reads. */
export const NodeLabels = {
  /** On Nodes: prefix of the role, such as `node-role.kubernetes.io/worker`. */
  RolePrefix: 'node-role.kubernetes.io/',
  /** On Nodes: the zone. */
  Zone: 'topology.kubernetes.io/zone',
  /** On Nodes: the operating system. A Windows node belongs to no pool. */
  OperatingSystem: 'kubernetes.io/os',
} as const;
