export const OPERATIONS = {
  create: 'create_machine',
  initialize: 'initialize_machine',
  status: 'get_machine_status',
  stop: 'stop_machine',
  start: 'start_machine',
  tag: 'tag_machine',
  delete: 'delete_machine',
  list: 'list_machine',
  volumeIds: 'get_volume_ids',
  evidence: 'get_machine_evidence',
  watchInterruptions: 'watch_interruptions',
} as const;
