/** The driver's methods as the original's drivers call them, in metrics and spans. */
export const OPERATIONS = {
  create: 'create_machine',
  initialize: 'initialize_machine',
  status: 'get_machine_status',
  delete: 'delete_machine',
  list: 'list_machine',
  volumeIds: 'get_volume_ids',
  evidence: 'get_machine_evidence',
} as const;
