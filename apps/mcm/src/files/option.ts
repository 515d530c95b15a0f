export const RECURSIVE = ['-R, --recursive', 'also read the directories below the given ones'] as const;
